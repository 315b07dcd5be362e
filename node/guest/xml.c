#include "guest/xml.h"

#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <string.h>

#include "base/text.h"

xmlDoc *guest_xml_parse(const char *text, const char *what, struct error *err)
{
    xmlDoc *doc =
        xmlReadMemory(text, (int)strlen(text), NULL, NULL,
                      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOBLANKS);
    if (!doc || !xmlDocGetRootElement(doc)) {
        if (doc)
            xmlFreeDoc(doc);
        error_set(err, ERROR_HYPERVISOR, "%s is not well-formed XML", what);
        return NULL;
    }
    return doc;
}

static xmlXPathObject *evaluate_xpath(xmlDoc *doc, const char *xpath)
{
    xmlXPathContext *context = xmlXPathNewContext(doc);
    xmlXPathObject *result = context ? xmlXPathEval((const xmlChar *)xpath, context) : NULL;
    xmlXPathFreeContext(context);
    return result;
}

char *guest_xml_string(xmlDoc *doc, const char *xpath)
{
    xmlXPathObject *found = evaluate_xpath(doc, xpath);
    if (!found)
        return NULL;
    xmlChar *value = xmlXPathCastToString(found);
    char *copy = value && value[0] ? text_copy((const char *)value) : NULL;
    xmlFree(value);
    xmlXPathFreeObject(found);
    return copy;
}

bool guest_xml_has(xmlDoc *doc, const char *xpath)
{
    xmlXPathObject *found = evaluate_xpath(doc, xpath);
    bool any = found && found->nodesetval && found->nodesetval->nodeNr > 0;
    xmlXPathFreeObject(found);
    return any;
}
