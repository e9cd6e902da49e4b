/** Limits of reading secrets alone. */

/** Longest secret file, in bytes. */
export const secretBytesMax = 65_536
