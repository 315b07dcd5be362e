/* The domain of a lease as libvirt XML (https://libvirt.org/formatdomain.html), rendered with libxml2. */
#ifndef BERTHOS_GUEST_DOMAIN_XML_H
#define BERTHOS_GUEST_DOMAIN_XML_H

#include "guest/spec.h"

#define GUEST_METADATA_NAMESPACE "https://berthos.dev/xmlns/domain/1"

/* The domain's XML. Never NULL. *Owned*: free(). */
char *domain_xml_render(const struct guest_spec *spec);

#endif
