import { runLogLinesMax } from '../limits.ts'
import { childAllowance } from './limits.ts'

/** Lines and characters of the log for each run. A child counts its lines, too, unless its code writes past that. */
const logAllowance = { lines: runLogLinesMax + 2, chars: 1_048_576 }

/** Counts messages of a child against its allowance, to stop one that sends without end. */
export class MessageAllowance {
  #messages = childAllowance.messages
  #chars = childAllowance.chars
  #logLines = logAllowance.lines
  #logChars = logAllowance.chars
  #logsAll = true

  /** Adds the allowance of a run given to it. */
  grant(): void {
    this.#messages += childAllowance.messages
    this.#chars += childAllowance.chars
    this.#logLines = Math.max(0, this.#logLines) + logAllowance.lines
    this.#logChars = Math.max(0, this.#logChars) + logAllowance.chars
    this.#logsAll = true
  }

  /** Counts a message of that length. @returns whether it is within the allowance */
  take(chars: number): boolean {
    this.#messages -= 1
    this.#chars -= chars
    return this.#messages >= 0 && this.#chars >= 0
  }

  /** Counts a line of the log of that length. @returns whether it is logged, or the first one that is not */
  takeLog(chars: number): 'logged' | 'first-left-out' | 'left-out' {
    this.#logLines -= 1
    this.#logChars -= chars
    if (this.#logLines >= 0 && this.#logChars >= 0) return 'logged'
    const isFirst = this.#logsAll
    this.#logsAll = false
    return isFirst ? 'first-left-out' : 'left-out'
  }
}
