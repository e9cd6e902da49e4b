/** Limits of the configuration's text. */

/** Longest configuration file in bytes, and deepest nesting of maps and lists in it. */
export const configBytesMax = 262_144
export const configDepthMax = 32
