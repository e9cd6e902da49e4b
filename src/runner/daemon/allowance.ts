import { childAllowance } from '../limits.ts'

/** Counts what a child says against what it may say, so that one that talks without end is found out. */
export class MessageAllowance {
  #messages = childAllowance.messages
  #chars = childAllowance.chars

  /** A run was given to it. */
  grant(): void {
    this.#messages += childAllowance.messages
    this.#chars += childAllowance.chars
  }

  /** Whether a message of that length is still within it. */
  take(chars: number): boolean {
    this.#messages -= 1
    this.#chars -= chars
    return this.#messages >= 0 && this.#chars >= 0
  }
}
