/** Refusals in a row after which a request that was answered once proves nothing any more. */
export const rateTriesMax = 4

/** Wait after a refusal for the rate that names none, doubled with each in a row up to the cap. */
export const rateBackoff = { baseMs: 1_000, capMs: 60_000 } as const

/** Discovered rate above which the limit is dropped. */
export const rateUnlimitedPerSecond = 10_000

/** The second of a rate, plus a millisecond because clocks truncate, and the longest way of a request to the server. */
export const rateWindowMs = 1_001
export const rateTransitMsMax = 500

/** Time for which the calls that a server answered in a second are remembered. */
export const rateHistoryMs = 10_000

/** Interval of checking whether a rising rate lets calls pass. */
export const rateLookMs = 250
