import type { FaultCode, FaultRecord } from '../../model/fault.ts'
import type { Task, TaskEnd } from '../messages.ts'
import { type Origin, originOf } from '../origin.ts'

/** Codes of the daemon's replies: the daemon alone reads chains, prices and lists. */
const ofReplies = /^(chain|price|list)-/

/** Codes that a process gives for what a chain has answered. */
const ofAnswers: ReadonlySet<FaultCode> = new Set(['chain-call-reverted', 'chain-call-undecodable'])

/** Instructions of replies that are remembered of a run. */
const fixesMax = 1_000

/**
 * Faults that the daemon has replied to a run with. Code that is not shipped may end it with any fault: a code that was not
 * replied is the collector's own failure, and an instruction of a package that was not is shown as its words.
 */
export class RepliedFaults {
  readonly #origin: Origin['kind']
  readonly #codes = new Set<FaultCode>()
  readonly #fixes = new Set<string>()
  #asksChain = false
  /** Names of all that it waited for at its deadline; absent before. */
  #waits: ReadonlySet<string> | undefined

  /** A description is not a run: its faults are about how a collector is found and loaded. */
  constructor(task: Task) {
    this.#origin = 'hour' in task ? originOf(task.collector).kind : 'shipped'
  }

  /** A run may ask for long: of many different instructions the first are kept. */
  add({ code, fix }: FaultRecord): void {
    this.#codes.add(code)
    if (fix !== undefined && this.#fixes.size < fixesMax) this.#fixes.add(fix)
  }

  /** Notes that the run has asked a chain. */
  addChain(): void {
    this.#asksChain = true
  }

  /** Notes that its deadline has passed. @param waits what it waits for: `chain NAME`, `price NAME`, `list NAME`, or a host */
  addDeadline(waits: readonly string[]): void {
    this.#waits = new Set(waits)
  }

  /** The end of the run, with what its process says as its own. */
  attributed(end: TaskEnd): TaskEnd {
    if (this.#origin === 'shipped') return end
    if (end.kind === 'faulted') return { ...end, fault: this.#attributed(end.fault) }
    if (end.kind !== 'collected') return end
    const failures = Object.entries(end.outcome.failures).map(([label, fault]) => [label, this.#attributed(fault)])
    return { ...end, outcome: { ...end.outcome, failures: Object.fromEntries(failures) } }
  }

  #attributed({ code, message, facts, fix }: FaultRecord): FaultRecord {
    if (code === 'collector-hung') return this.#late({ code, message, facts, ...(fix !== undefined && { fix }) })
    const isKnown =
      !ofReplies.test(code) ||
      // The names of the chains are known in a process.
      code === 'chain-unknown' ||
      (ofAnswers.has(code) && this.#asksChain) ||
      this.#codes.has(code)
    const isOwn = fix === undefined || this.#origin !== 'package' || this.#fixes.has(fix)
    const words = isOwn ? fix : `its process says: ${fix}`
    return { code: isKnown ? code : 'collector-threw', message, facts, ...(words !== undefined && { fix: words }) }
  }

  /** A run is late when its deadline has passed, and blames what it waited for then. */
  #late({ message, facts, fix }: FaultRecord): FaultRecord {
    if (!this.#waits) return { code: 'collector-threw', message, facts }
    const { waitedFor, ...otherFacts } = facts
    const names = String(waitedFor ?? '')
      .split(', ')
      .filter(name => this.#waits?.has(name))
    if (names.length > 0)
      return { code: 'collector-hung', message, facts: { ...otherFacts, waitedFor: names.join(', ') } }
    return {
      code: 'collector-hung',
      message,
      facts: otherFacts,
      ...(waitedFor === undefined && fix !== undefined && { fix }),
    }
  }
}
