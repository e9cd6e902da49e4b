import type { Time } from '../../edge/time.ts'
import type { Role } from './role.ts'

/** Events of upkeep; each is reported when it begins, not while it lasts. */
export type UpkeepNews =
  | { readonly kind: 'disk-full'; readonly sentence: string }
  | { readonly kind: 'room-again' }
  /** The lock's file was removed; the role was taken again with a new one. */
  | { readonly kind: 'role-renewed' }
  /** The lock's file was removed, and another process has the role. */
  | { readonly kind: 'role-lost' }
  /** Another process keeps the write lock. */
  | { readonly kind: 'locked'; readonly sentence: string }
  | { readonly kind: 'unlocked' }
  /** The log cannot be truncated, for example because of a forgotten reader. */
  | { readonly kind: 'log-large'; readonly bytes: number }
  | { readonly kind: 'log-trimmed' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Options of the upkeep. */
export interface UpkeepDeps {
  readonly role: Role
  /** Time for which delivered hours are kept, in milliseconds. */
  readonly keepMs: number
  readonly time: Time
  /** Whether the clock is trusted enough to delete by age. Default: it is. */
  readonly mayPrune?: () => boolean
  /** Called once when something begins, and once when it is over. */
  readonly report: (news: UpkeepNews) => void
}
