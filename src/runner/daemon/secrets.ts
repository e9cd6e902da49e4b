import { type CollectorConfig, type OptionSecret, secretId, secretsWritten } from '../../config/config.ts'
import type { readOption } from '../../config/secret.ts'
import { secretPartsOf } from '../../model/host.ts'
import type { CollectorRef } from '../messages.ts'
import type { Redacting } from './redacting.ts'

/** The secrets a collector claims its options declare, as far as a person has written them there. */
export function declaredSecrets(
  { options, configFile }: Pick<CollectorRef, 'options' | 'configFile'>,
  said: readonly string[],
): readonly OptionSecret[] {
  return secretsWritten(options, configFile).filter(({ ref }) => said.includes(secretId(ref)))
}

/** Reads the secrets of collectors, at each of their runs. */
export class RunSecrets {
  readonly #redactor: Redacting
  readonly #read: typeof readOption
  readonly #before = new WeakMap<CollectorRef, CollectorRef>()

  /** @param read reads the secret of an option. Throws Fault `secret-missing` */
  constructor(redactor: Redacting, read: typeof readOption) {
    this.#redactor = redactor
    this.#read = read
  }

  /**
   * The collector with its present secrets, which the redactor knows before anything else happens. While they are
   * unchanged it is the same object, so that many hours of it are prepared once.
   *
   * @throws Fault `secret-missing`
   */
  refWith(ref: CollectorRef, secrets: readonly OptionSecret[], collector: CollectorConfig): CollectorRef {
    if (secrets.length === 0) return ref
    const values = secrets.map(
      secret => [secretId(secret.ref), this.#read(secret, collector.placeOf(secret.path))] as const,
    )
    const read = Object.fromEntries(values)
    this.#redactor.add(Object.values(read).flatMap(secret => [secret, ...secretPartsOf(secret)]))
    const before = this.#before.get(ref)
    if (before && Object.entries(read).every(([id, value]) => before.secrets?.[id] === value)) return before
    const now = { ...ref, secrets: read }
    this.#before.set(ref, now)
    return now
  }
}
