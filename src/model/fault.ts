import { storable } from './text.ts'

/**
 * All kinds of failure, as a closed list. The code determines whether the same call may succeed later without a change
 * (`permanence`), and the exit code of a command.
 */
const permanenceByCode = {
  /** The command line is wrong. */
  usage: 'permanent',
  /** The configuration is wrong. */
  config: 'permanent',
  /** A secret's file or variable is missing or empty. */
  'secret-missing': 'permanent',
  /** Another daemon holds this outbox. */
  'outbox-held': 'permanent',
  /** A server cannot listen where it should. */
  'address-unusable': 'permanent',
  /** The outbox cannot be opened or written. */
  'outbox-unusable': 'permanent',
  /** The outbox was moved or replaced while it was open. */
  'outbox-moved': 'transient',
  /** The outbox is damaged, and another process holds it, which saves what can be read. */
  'outbox-corrupt': 'transient',
  /** There is no room to store anything new. */
  'disk-full': 'transient',
  /** The database of the outbox can only be read now. */
  'database-read-only': 'transient',
  /** The database of the outbox cannot be reached now. */
  'database-unreachable': 'transient',
  /** The database of the outbox does not let this user in. */
  'database-unusable': 'permanent',
  /** The server, the encoding or the tables of the database are such that this daemon cannot use it. */
  'database-version': 'permanent',
  /** The database of the outbox refuses a statement. */
  'database-failed': 'transient',
  /** The values collected for an hour were lost in a damaged outbox. */
  'hour-lost': 'transient',
  /** Another daemon of the fleet has taken over an hour that this one was collecting. */
  'hour-taken-over': 'transient',
  /** Another daemon of the fleet may have what this one had a lease of: nothing of it is stored here. */
  'lease-lost': 'transient',
  /** A collector's file is missing, cannot be loaded or is not a collector. */
  'collector-unusable': 'permanent',
  /** A collector threw an error of its own. */
  'collector-threw': 'transient',
  /** A collector gave something that is not its declared metrics. */
  'collector-output': 'permanent',
  /** A collector did not answer in time, blocked its event loop, or ended its process. */
  'collector-hung': 'transient',
  /** The process of a collector had too little of a processor: the machine, or its container, gives it none. */
  'machine-busy': 'transient',
  /** A read is not in the recording that a test replays. */
  'collector-unrecorded': 'permanent',
  /** A value that a derived one is computed from is missing, held or dead. */
  'input-missing': 'transient',
  /** The window of a derived value reaches back to hours that were not collected. */
  'window-incomplete': 'transient',
  /** The hour has passed, and its collector can only read the present. */
  'hour-passed': 'permanent',
  /** The hour lies further back than the catch-up range. */
  'hour-too-old': 'permanent',
  /** The machine that alone runs a collector was not seen by its fleet for a day. */
  'machine-forgotten': 'permanent',
  /** This machine's clock is not believed. */
  'clock-doubted': 'transient',
  /** The chain has no block past the hour yet. */
  'chain-behind': 'transient',
  /** The hour lies before the chain's first block. */
  'chain-before-first-block': 'permanent',
  /** A node does not answer, or its answer cannot be understood. */
  'chain-unreachable': 'transient',
  /** The endpoints answer other reads at that block, but fail at this one. */
  'chain-call-failed': 'transient',
  /** Endpoints of different hosts answer differently about the same hour, or fewer answer than must agree. */
  'chain-disagreement': 'transient',
  /** A reorg replaced the as-of block between two reads. */
  'chain-reorganized': 'transient',
  /** No endpoint has the state of that hour any more, or its receipts. */
  'chain-state-missing': 'permanent',
  /** A node serves another chain than configured. */
  'chain-wrong-id': 'permanent',
  /** A contract refused the call at the as-of block. */
  'chain-call-reverted': 'permanent',
  /** A call returned bytes its ABI does not describe, or logs were read of an address without a contract. */
  'chain-call-undecodable': 'permanent',
  /** The Fault when a collector asks for a chain that is not configured. */
  'chain-unknown': 'permanent',
  /** No source of a price has one for the hour. */
  'price-missing': 'transient',
  /** No source of a price has one for the hour, and one that may have it cannot be asked. */
  'price-unread': 'transient',
  /** A price that is asked for is not configured. */
  'price-unknown': 'permanent',
  /** A list of the configuration cannot be read for the hour. */
  'list-missing': 'transient',
  /** A list that is asked for is not configured. */
  'list-unknown': 'permanent',
  /** An off-chain source does not answer, or answers with a transient error. */
  'http-unreachable': 'transient',
  /** An off-chain source refuses the request. */
  'http-refused': 'permanent',
  /** The answer of an off-chain source does not fit its schema. */
  'http-unexpected': 'permanent',
  /** The metrics service does not answer, or answers with a transient error. */
  'service-unreachable': 'transient',
  /** The metrics service refused the request. */
  'service-refused': 'permanent',
  /** The metrics service refused the key. */
  'service-key-refused': 'permanent',
  /** The daemon is not running, or does not answer. */
  'daemon-unreachable': 'transient',
  /** Stopped before the work was done. */
  stopped: 'transient',
} as const

export type FaultCode = keyof typeof permanenceByCode

/** Every fault code. */
export const faultCodes = Object.keys(permanenceByCode) as readonly FaultCode[]

/** `transient`: the same call may succeed later. `permanent`: it fails until something is changed. */
type Permanence = 'transient' | 'permanent'

/** Optional parts of a Fault. */
interface FaultFields {
  /** Details for the reader: names, numbers, places. Never a secret, never a URL with a path. */
  readonly facts?: Readonly<Record<string, string | number>>
  /** Instruction for a person; absent when there is nothing to do. */
  readonly fix?: string
  /** The error that caused it; stays in this process. */
  readonly cause?: unknown
}

/**
 * An error that a person can act on: what happened (`message`), the facts, what to do (`fix`), its cause. The text
 * never holds a secret: name hosts, not URLs. Every store takes it, whatever another program wrote into it.
 */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly facts: Readonly<Record<string, string | number>>
  readonly fix: string | undefined

  constructor(code: FaultCode, message: string, parts: FaultFields = {}) {
    super(storable(message), parts.cause === undefined ? undefined : { cause: parts.cause })
    this.code = code
    this.facts = Object.fromEntries(
      Object.entries(parts.facts ?? {}).map(([name, fact]) => [
        storable(name),
        typeof fact === 'string' ? storable(fact) : fact,
      ]),
    )
    this.fix = parts.fix === undefined ? undefined : storable(parts.fix)
  }

  get permanence(): Permanence {
    return permanenceByCode[this.code]
  }
}

/** Whether the same call would fail again. An error that is not a Fault counts as transient. */
export function isPermanent(error: unknown): boolean {
  return error instanceof Fault && error.permanence === 'permanent'
}

/** Faults of the outbox's own file: nothing was stored. */
const ofOutbox: ReadonlySet<FaultCode> = new Set([
  'outbox-unusable',
  'outbox-moved',
  'outbox-corrupt',
  'disk-full',
  'database-read-only',
  'database-unreachable',
  'database-unusable',
  'database-failed',
])

/** Whether the outbox cannot be read or written. */
export function isOfOutbox({ code }: Fault): boolean {
  return ofOutbox.has(code)
}

/** One line for a log or a table: message, facts that it does not name itself, fix. */
export function faultLine(error: unknown): string {
  if (!(error instanceof Fault)) return error instanceof Error ? error.message : String(error)
  const facts = Object.entries(error.facts)
    .filter(([, value]) => typeof value === 'number' || !error.message.includes(value))
    .map(([name, value]) => `${name}=${value}`)
  return [error.message, facts.length > 0 ? `(${facts.join(', ')})` : '', error.fix ? `– ${error.fix}` : '']
    .filter(part => part !== '')
    .join(' ')
}

/** A Fault as plain data, to cross a process or to be stored. */
export interface FaultRecord {
  readonly code: FaultCode
  /** One sentence without secrets. */
  readonly message: string
  /** Details, each with its name. */
  readonly facts: Readonly<Record<string, string | number>>
  /** Instruction for a person; absent when there is nothing to do. */
  readonly fix?: string
}

/** The plain data of a Fault, without its cause. */
export function faultRecord(fault: Fault): FaultRecord {
  const { code, message, facts, fix } = fault
  return fix === undefined ? { code, message, facts } : { code, message, facts, fix }
}

/** The Fault of a record, without its cause. */
export function faultFromRecord(record: FaultRecord): Fault {
  const { code, message, facts, fix } = record
  return new Fault(code, message, fix === undefined ? { facts } : { facts, fix })
}
