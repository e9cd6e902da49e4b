import type { Mistake } from '../mistakes/mistakes.ts'

/** Result of parsing a string: the value, or the mistake. */
export type Formed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly mistake: Mistake }

/** A parser of strings. Pure. */
export type Form<T> = (text: string) => Formed<T>

/** The result of a valid string. */
export const formed = <T>(value: T): Formed<T> => ({ ok: true, value })
/** The result of a string with a mistake. */
export const refused = (message: string, fix: string) => ({ ok: false, mistake: { message, fix } }) as const
