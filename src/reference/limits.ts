/** Longest body of a request, in bytes: more than 100 metrics with every text at its longest. */
export const requestBytesMax = 1_048_576

/** Longest protocol id in a path, in bytes, percent-encoded. */
export const pathIdBytesMax = 1_000
