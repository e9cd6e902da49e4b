/** Longest answer of an off-chain source, in bytes. */
export const httpAnswerBytesMax = 8 * 1_048_576

/** Longest body of an off-chain request, in bytes. */
export const httpRequestBytesMax = 1_048_576

/** Attempts of one off-chain request. */
export const httpAttemptsMax = 3

/** Redirects followed of one off-chain request. */
export const httpRedirectsMax = 3

/** Longest attempt of an off-chain request, answer included. */
export const httpTryMsMax = 20_000

/** Wait before the next attempt of an off-chain request, with full jitter. */
export const httpBackoff = { baseMs: 500, capMs: 5_000 } as const

/** Longest connection set-up of an off-chain request, look-up and TLS included. */
export const httpConnectMsMax = 10_000

/** Origins whose kind of address is remembered. */
export const httpOriginsMax = 1_000

/** Mistakes of one off-chain answer that are named; further ones are counted. */
export const httpMistakesMax = 3

/** Longest value of an off-chain answer in a message, in characters. */
export const httpValueCharsMax = 40
