/** Limits for slow readers: a real one sends a few short headers at once. */
export const patience = { headersMsMax: 10_000, requestMsMax: 15_000 }
