import { childAllowance } from './limits.ts'

/** Counts messages of a child against its allowance, to stop one that sends without end. */
export class MessageAllowance {
  #messages = childAllowance.messages
  #chars = childAllowance.chars

  /** Adds the allowance of a run given to it. */
  grant(): void {
    this.#messages += childAllowance.messages
    this.#chars += childAllowance.chars
  }

  /** Counts a message of that length. @returns whether it is within the allowance */
  take(chars: number): boolean {
    this.#messages -= 1
    this.#chars -= chars
    return this.#messages >= 0 && this.#chars >= 0
  }
}
