import type { AsOfBlock, Hex } from './block.ts'
import type { Hour } from './hour.ts'

/** The items of a list as of an hour. */
export interface ListMemory {
  readonly hour: Hour
  readonly items: readonly Hex[]
  /** For each item the block at which it came. Absent where the list says the places of its items. */
  readonly blocks?: readonly number[] | undefined
}

/** Memory of a list, with its certificate. */
export interface RememberedList extends ListMemory {
  /** Its key under `lists:`. */
  readonly name: string
  /** Of its definition and of what follows: of another list with its name, and of a part of it, it is another. */
  readonly digest: string
  /** The as-of block of the hour. It is believed while that is a block of the chain. Absent where the chain had none yet. */
  readonly block?: Pick<AsOfBlock, 'number' | 'hash'> | undefined
  /** When it was read from its beginning, in milliseconds since 1970. */
  readonly sinceMs: number
  /** When a piece of its past was last read again, in milliseconds since 1970. */
  readonly rereadMs: number
  /** The end of that piece. */
  readonly rereadTo: Hour
  /** When it was last forgotten because hosts disagreed, in milliseconds since 1970; 0 for never. */
  readonly doubtedMs: number
}

/** Keeps what is remembered of lists, for the next start. Methods reject with errors of the store. */
export interface ListKeeper {
  /** All lists, by name. */
  all(): Promise<readonly RememberedList[]>
  /** `undefined` where nothing is kept of the name. */
  read(name: string): Promise<RememberedList | undefined>
  /** When a list was read from its beginning: another daemon or a person may have forgotten it since. */
  sinceMs(name: string): Promise<number | undefined>
  save(list: RememberedList): Promise<void>
  /** @returns whether anything was kept */
  forget(name: string): Promise<boolean>
}

/** Memory for a reader that changes nothing. */
export function readingOnly(keeper: ListKeeper): ListKeeper {
  return {
    all: () => keeper.all(),
    read: name => keeper.read(name),
    sinceMs: name => keeper.sinceMs(name),
    save: async () => {},
    forget: async () => false,
  }
}
