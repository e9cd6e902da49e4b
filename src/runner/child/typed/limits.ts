/** Call data cached for each function of an ABI. */
export const inputsRememberedMax = 4_096

/** Length of arguments whose call data are cached, in characters. */
export const inputCharsRememberedMax = 1_000
