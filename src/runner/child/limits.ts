/** Length at which a child splits its messages, in characters. */
export const childMessageCharsAimed = 1_048_576

/** Undeclared labels named in an outcome; further ones are counted. */
export const undeclaredLabelsMax = 5
