import { randomFillSync } from 'node:crypto'
import { statfsSync, unlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { fileStats } from '../../../edge/file-stats.ts'
import { isFull } from '../../../sqlite/damage.ts'
import type { DiskSpace } from '../../contract/health.ts'
import { ballastBytes } from './limits.ts'

const blockBytes = 1_048_576

/**
 * A file of random bytes that is deleted when the disk is full, so that verdicts can still be recorded. Zeros would
 * take no room on a disk that compresses.
 */
export class Ballast {
  readonly file: string
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.file = join(folder, 'ballast')
  }

  /** Whether the file exists in its full size. */
  get isThere(): boolean {
    return fileStats(this.file)?.size === ballastBytes
  }

  /** Whether the disk has room for it and as much again to work with. */
  get hasRoom(): boolean {
    const { room } = this
    return !room || room.freeBytes >= 2 * ballastBytes
  }

  /** Room of the disk; `undefined` when the system does not say. A quota is not seen. */
  get room(): DiskSpace | undefined {
    try {
      const { bavail, bsize, blocks } = statfsSync(this.#folder)
      return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
    } catch {
      return undefined
    }
  }

  /**
   * Deletes the file. Never throws: callers are handling an error already.
   *
   * @returns whether that made room
   */
  release(): boolean {
    try {
      unlinkSync(this.file)
      return true
    } catch {
      return false
    }
  }

  /** Creates the file where there is room. @returns whether it exists now */
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
