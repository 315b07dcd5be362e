/* Documents of the node as a person reads them, on stdout. What is missing in one is left out. */
#ifndef BERTHOS_CLI_DOCUMENTS_H
#define BERTHOS_CLI_DOCUMENTS_H

#include <jansson.h>

void documents_print_lease(const json_t *lease);
void documents_print_leases(const json_t *leases); /* with a line between them */
void documents_print_receipt(const json_t *receipt);
void documents_print_node(const json_t *node, const char *url);

/*
 * A berth of /v1/node in one line: "preparing: boot, 12 s", "ready, 5 s; prepared: 2 vCPU, ... (ram, 5 s)".
 * *Owned*.
 */
char *documents_berth(const json_t *berth);

/*
 * What the guest that is being prepared is in: "define", "boot", "desktop", "first frame"; where /v1/node
 * names no phase, "waiting for the node". Borrowed from the document, or static.
 */
const char *documents_phase(const json_t *node);

/* "2 vCPU, 4 GiB memory, 40 GiB disk" of a quote or a spare guest, or NULL when it has no such numbers.
 * *Owned*. */
char *documents_shape(const json_t *quote);

/* What a pairing or an invite may: "lease; 2 leases at once, each 1 h at most". Never NULL. *Owned*. */
char *documents_grant(const json_t *grant);

#endif
