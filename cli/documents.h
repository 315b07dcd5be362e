/* Documents of the node as a person reads them, on stdout. What is missing in one is left out. */
#ifndef BERTHOS_CLI_DOCUMENTS_H
#define BERTHOS_CLI_DOCUMENTS_H

#include <jansson.h>

void documents_print_lease(const json_t *lease);
void documents_print_receipt(const json_t *receipt);
void documents_print_node(const json_t *node, const char *url);

/* "2 vCPU, 4 GiB memory, 40 GiB disk" of a quote, or NULL when it has no such numbers. *Owned*. */
char *documents_shape(const json_t *quote);

#endif
