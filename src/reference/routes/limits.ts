/** Values in one answer of GET /api/metrics: by default, and at most. */
export const listedDefault = 1_000
export const listedMax = 10_000
