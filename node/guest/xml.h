/* libxml2 in this part: documents that free themselves and the few look-ups that are needed. */
#ifndef BERTHOS_GUEST_XML_H
#define BERTHOS_GUEST_XML_H

#include <libxml/tree.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

CLEANUP_DEFINE(xml_doc, xmlDoc *, xmlFreeDoc);
#define CLEANUP_XML CLEANUP(cleanup_xml_doc)

/* Parses XML that libvirt gave: no network, no entities, no messages on stderr. NULL with ERROR_HYPERVISOR.
 */
xmlDoc *guest_xml_parse(const char *text, const char *what, struct error *err);

/* The string value of an XPath expression, NULL when it is empty. *Owned*. */
char *guest_xml_string(xmlDoc *doc, const char *xpath);

/* Whether an XPath expression of nodes selects any. */
bool guest_xml_has(xmlDoc *doc, const char *xpath);

#endif
