/** Limits of reading secrets. */

/** Longest secret file, in bytes. */
export const secretBytesMax = 65_536
