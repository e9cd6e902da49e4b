import { randomFillSync } from 'node:crypto'
import { type Stats, statfsSync, statSync, unlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { ballastBytes } from '../../model/limits.ts'
import { isFull } from '../../sqlite/damage.ts'

const blockBytes = 1_048_576

/**
 * A file that does nothing but take room, so that there is some to give when the disk is full: recording a verdict needs
 * room, too, and what is due would else be stuck. Its bytes are random: zeros take no room on a disk that compresses.
 */
export class Ballast {
  readonly file: string
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.file = join(folder, 'ballast')
  }

  /** Whether it is there in full. */
  get isThere(): boolean {
    return this.#found?.size === ballastBytes
  }

  /** Whether the disk has room for it and as much again to work with; a quota is not seen. */
  get hasRoom(): boolean {
    try {
      const { bavail, bsize } = statfsSync(this.#folder)
      return bavail * bsize >= 2 * ballastBytes
    } catch {
      return true
    }
  }

  /**
   * Gives its room away. Never throws: it is asked for while an error is looked at.
   *
   * @returns whether there is room now that there was not
   */
  release(): boolean {
    try {
      unlinkSync(this.file)
      return true
    } catch {
      return false
    }
  }

  get #found(): Stats | undefined {
    try {
      return statSync(this.file, { throwIfNoEntry: false })
    } catch {
      return undefined
    }
  }

  /** Makes it where there is room. @returns whether it is there now */
  async make(): Promise<boolean> {
    if (this.isThere) return true
    if (!this.hasRoom) return false
    try {
      await this.#write()
    } catch (error) {
      this.release()
      if (!isFull(error)) throw error
    }
    return this.isThere
  }

  async #write(): Promise<void> {
    await using file = await open(this.file, 'w', 0o600)
    for (let written = 0; written < ballastBytes; written += blockBytes) {
      await file.write(randomFillSync(Buffer.alloc(blockBytes)))
    }
    await file.sync()
  }
}
