/** Bytes of a request's body: more than 100 metrics take with every text at its longest. */
export const requestBytesMax = 1_048_576

/** Bytes of a protocol id in a path, percent-encoding included. */
export const pathIdBytesMax = 1_000
