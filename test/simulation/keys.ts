import type { SecretRef } from '../../src/config/config.ts'
import { Fault } from '../../src/model/fault.ts'
import type { Clock } from './clock.ts'
import type { OwnerScript, Script } from './script.ts'

/** Each owner's key, at the service and in its file, which are not always changed at the same time. */
export class Keys {
  readonly #script: Script
  readonly #clock: Clock

  constructor(script: Script, clock: Clock) {
    this.#script = script
    this.#clock = clock
  }

  /** Who owns a key by now; `undefined` for one the service does not know. */
  ownerAtService(key: string): string | undefined {
    return this.#script.owners.find(owner => this.#keyOf(owner, 'atServiceMs') === key)?.name
  }

  /** Whose key it is, valid or not. */
  ownerOf(key: string): string {
    return key.replace(/ key \d+$/, '')
  }

  /** Content of an owner's file. */
  read(name: string): string {
    const owner = this.#script.owners.find(one => one.name === name)
    if (!owner) throw new Fault('secret-missing', `there is no key ${name}`)
    return this.#keyOf(owner, 'inFileMs')
  }

  /** As the configuration reads a protocol's own key. */
  readonly readSecret = (ref: SecretRef): string => this.read(ref.kind === 'file' ? `file:${ref.path}` : ref.name)

  #keyOf({ name, rotations }: OwnerScript, at: 'atServiceMs' | 'inFileMs'): string {
    const nowMs = this.#clock.nowMs()
    // In the end every key is a new one: one that was refused before it was valid is not tried again.
    if (nowMs >= this.#script.healthyMs) return `${name} key 99`
    return `${name} key ${rotations.filter(rotation => rotation[at] <= nowMs).length}`
  }
}
