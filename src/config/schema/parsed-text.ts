import type { Mistake } from '../mistakes/mistakes.ts'

/** Result of parsing a string: the value, or the mistake. */
export type ParsedText<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly mistake: Mistake }

/** A parser of strings. Pure. */
export type TextParser<T> = (text: string) => ParsedText<T>

/** The result of a valid string. */
export const parsed = <T>(value: T): ParsedText<T> => ({ ok: true, value })
/** The result of a string with a mistake. */
export const refused = (message: string, fix: string) => ({ ok: false, mistake: { message, fix } }) as const
