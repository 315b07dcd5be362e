#include "doctor/facts.h"

const char *const fact_words[] = {[FACT_UNKNOWN] = "unknown", [FACT_NO] = "no", [FACT_YES] = "yes", NULL};
