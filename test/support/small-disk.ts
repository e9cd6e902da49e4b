import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A file system of its own that can be filled up. */
export interface SmallDisk {
  readonly folder: string
  /** Fills it to the last byte. */
  fill(): void
  /** Takes the filler away. */
  empty(): void
}

/** Whether this process may mount a file system, which needs root. */
export const mayMount = (() => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-mount-'))
  try {
    mount(folder, 1)
    unmount(folder)
    return true
  } catch {
    return false
  } finally {
    rmdirSync(folder)
  }
})()

/**
 * Mounts a file system of so many MiB in memory; it goes when the test ends.
 *
 * @param files that it takes, its own folder included. Default: more than any test has
 */
export function smallDisk(mebibytes: number, files?: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-disk-'))
  mount(folder, mebibytes, files)
  onTestFinished(() => {
    unmount(folder)
    rmdirSync(folder)
  })
  const filler = join(folder, 'filler')
  return { folder, fill: () => fillUp(filler), empty: () => rmSync(filler, { force: true }) }
}

function mount(folder: string, mebibytes: number, files?: number): void {
  const options = `size=${mebibytes}m${files === undefined ? '' : `,nr_inodes=${files}`}`
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'pipe' })
}

function unmount(folder: string): void {
  // Lazy: a process that was just killed may still have a file open.
  execFileSync('umount', ['-l', folder], { stdio: 'pipe' })
}

function fillUp(file: string): void {
  const descriptor = openSync(file, 'a')
  try {
    for (let bytes = 1_048_576; bytes >= 1; bytes = Math.floor(bytes / 2)) {
      const block = Buffer.alloc(bytes, 0x66)
      while (isWritten(descriptor, block));
    }
  } finally {
    closeSync(descriptor)
  }
}

function isWritten(descriptor: number, block: Buffer): boolean {
  try {
    return writeSync(descriptor, block) > 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
