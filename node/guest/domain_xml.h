/* The domain of a lease as libvirt XML (https://libvirt.org/formatdomain.html), rendered with libxml2. */
#ifndef BERTHOS_GUEST_DOMAIN_XML_H
#define BERTHOS_GUEST_DOMAIN_XML_H

#include "base/error.h"
#include "guest/spec.h"

/* The domain's XML. Never NULL. *Owned*: free(). */
char *domain_xml_render(const struct guest_spec *spec);

/*
 * The XML of a saved domain (virDomainSaveImageGetXMLDesc) with what differs between two guests of one saved
 * state exchanged for spec's: the metadata, the disk chain, the console's log, QEMU's label. Everything else
 * stays, since a restore needs the genid and the addresses of the save, and is for domain_inspect() to judge.
 * *Owned*: free(). NULL with ERROR_HYPERVISOR when `saved` is not XML.
 */
char *domain_xml_edit(const char *saved, const struct guest_spec *spec, struct error *err);

#endif
