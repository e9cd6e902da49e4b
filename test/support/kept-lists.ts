import type { ListKeeper, RememberedList } from '../../src/model/list-memory.ts'

/** Keeps in memory what an outbox would keep. */
export class KeptLists implements ListKeeper {
  /** All that was ever saved, in its order. */
  readonly saved: RememberedList[] = []
  readonly lists = new Map<string, RememberedList>()

  async all(): Promise<readonly RememberedList[]> {
    return [...this.lists.values()]
  }

  async read(name: string): Promise<RememberedList | undefined> {
    return this.lists.get(name)
  }

  async sinceMs(name: string): Promise<number | undefined> {
    return this.lists.get(name)?.sinceMs
  }

  async save(list: RememberedList): Promise<void> {
    this.saved.push(list)
    this.lists.set(list.name, list)
  }

  async forget(name: string): Promise<boolean> {
    return this.lists.delete(name)
  }
}
