import type { OptionSecret } from '../config/config.ts'
import { readOption } from '../config/secret.ts'
import { Fault } from '../model/fault.ts'
import { keysInHost, secretCharsMin, secretPartsOf } from '../model/host.ts'
import type { Redactor } from '../telemetry/redactor.ts'

/** A secret's path in the options: a recording names no file and no variable of a machine. */
const pathOf = ({ path }: OptionSecret) => path.join('.')

/** Reads the secrets of a run that is recorded, and remembers what stands for them in its replay. */
export class SecretsRead {
  /** Stand-ins of those that are addresses, by their path in the options. */
  readonly addresses: Record<string, string> = {}
  readonly #redactor: Redactor

  /** @param redactor is given every part of them that is long enough to be found */
  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** @throws Fault `secret-missing`; `usage` for one that is too short to be found in what is recorded */
  readonly read: typeof readOption = (secret, place) => {
    const value = readOption(secret, place)
    if (value.length < secretCharsMin) {
      throw new Fault('usage', `options.${pathOf(secret)}: a secret of less than ${secretCharsMin} characters`, {
        fix: 'record with a longer one: shorter ones cannot be redacted without hiding other words',
      })
    }
    this.#redactor.add(secretPartsOf(value, secretCharsMin))
    if (URL.canParse(value) && value.includes('://')) this.addresses[pathOf(secret)] = standInOf(value)
    return value
  }
}

/**
 * Reads stand-ins for the secrets of a run that is replayed. They are redacted in its requests as the secrets were in
 * those of the recording, so that the two are equal.
 */
export function standIns(addresses: Readonly<Record<string, string>> = {}): typeof readOption {
  return secret =>
    addresses[pathOf(secret)] ?? `stand-in-of-options.${pathOf(secret)}`.replace(/[^\x21-\x7e]|[=:;,]/g, '-')
}

/** The address with a word for each part that may be secret; what is filled in by the collector, `{hour}`, stays. */
function standInOf(secret: string): string {
  const url = new URL(secret)
  let count = 0
  const word = (part: string) => {
    if (part.length < secretCharsMin || part.includes('{')) return part
    count += 1
    return `stand-in-${count}`
  }
  const host = keysInHost(url.hostname).reduce((name, key) => name.replace(key, word(key)), url.host)
  const query = [...url.searchParams].map(([name, value]) => `${name}=${word(value)}`).join('&')
  // As it is written: the braces are the collector's.
  const path = url.pathname.replace(/%7B/gi, '{').replace(/%7D/gi, '}').split('/').map(word).join('/')
  return `${url.protocol}//${host}${path}${query === '' ? '' : `?${query}`}`
}
