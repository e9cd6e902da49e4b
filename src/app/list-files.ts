import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isAddress } from '../chain/shapes.ts'
import type { CollectorConfig, Config } from '../config/config.ts'
import type { Hex } from '../model/block.ts'
import { type Hour, hourText } from '../model/hour.ts'
import { jsonOf } from '../model/json.ts'
import type { ListKeeper } from '../runner/daemon/lists.ts'
import type { ListMemory } from '../runner/messages.ts'

const stored = z.object({
  /** Digest of the list, its chain and what follows: of another list with its name, and of damaged text, it is another. */
  of: z.string(),
  hour: z.iso.datetime().transform(text => Date.parse(text) as Hour),
  items: z.array(z.custom<Hex>(isAddress)),
  blocks: z.array(z.int()).optional(),
})

/**
 * Keeps lists in the data folder, one file each. A list that cannot be read or written there is read from its chain again.
 */
export class ListFiles implements ListKeeper {
  readonly #folder: string
  readonly #chains: Config['chains']
  #writes = 0

  constructor({ data, chains }: Pick<Config, 'data' | 'chains'>) {
    this.#folder = join(data.kind === 'folder' ? data.folder : data.keptIn, 'lists')
    this.#chains = chains
  }

  async read(list: CollectorConfig): Promise<ListMemory | undefined> {
    try {
      const { of, ...memory } = stored.parse(jsonOf(await readFile(this.#fileOf(list), 'utf8')))
      return of === this.#digestOf(list, memory) ? memory : undefined
    } catch {
      return undefined
    }
  }

  async write(list: CollectorConfig, memory: ListMemory): Promise<void> {
    const { hour, ...rest } = memory
    const file = this.#fileOf(list)
    this.#writes += 1
    const written = `${file}.${process.pid}.${this.#writes}`
    try {
      // Not the data folder: it may be a volume that is not mounted now.
      if (!existsSync(this.#folder)) await mkdir(this.#folder, { mode: 0o700 })
      const text = JSON.stringify({ of: this.#digestOf(list, memory), hour: hourText(hour), ...rest })
      await writeFile(written, text, { mode: 0o600 })
      // In one step: another process may read it.
      await rename(written, file)
    } catch {
      // It saves reads, and no value depends on it.
    }
  }

  #fileOf({ id }: CollectorConfig): string {
    return join(this.#folder, `${id.slice('list '.length)}.json`)
  }

  #digestOf({ options }: CollectorConfig, { hour, items, blocks = [] }: ListMemory): string {
    const chains = this.#chains.map(({ name, id }) => [name, id])
    return createHash('sha256')
      .update(JSON.stringify([options, chains, hour, items, blocks]))
      .digest('hex')
  }
}
