/** Limits of reading a chain that several of its folders share. Units are in the names. */

/** Longest wait for one answer of an endpoint, body included; the next endpoint is asked then. */
export const answerMsMax = 15_000

/** Calls in one request, until a node refuses that many. */
export const batchCallsMax = 1_000

/** Concurrent requests for logs to one endpoint. */
export const logRequestsAtOnceMax = 6
