/** Values in one answer of GET /api/metrics: unless asked for otherwise, and at most. */
export const listedDefault = 1_000
export const listedMax = 10_000
