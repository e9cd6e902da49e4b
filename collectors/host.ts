import { statfs } from 'node:fs/promises'
import { freemem, loadavg, platform, totalmem } from 'node:os'
import { defineCollector, path, z } from 'tidegauge'

const GiB = 2 ** 30

/**
 * Load, memory and disk of the machine that runs the daemon: real values without a chain or a network. `Load` is the
 * average number of running or waiting tasks over the last minute. Past hours cannot be read.
 */
export default defineCollector({
  options: z.strictObject({ disk: path.prefault('/').describe('a folder on the disk to measure') }),
  metrics: {
    Load: { min: 0 },
    MemoryUsed: { unit: '%', min: 0, max: 100 },
    DiskUsed: { unit: '%', min: 0, max: 100 },
    DiskFree: { unit: 'GiB', min: 0 },
  },
  history: false,
  async collect({ options }) {
    // Windows has no load average: Node answers 0 there, and unknown is not zero.
    if (platform() === 'win32') throw new Error('this machine has no load average')
    const { blocks, bfree, bavail, bsize } = await statfs(options.disk)
    return {
      Load: loadavg()[0] ?? Number.NaN,
      MemoryUsed: 100 * (1 - freemem() / totalmem()),
      DiskUsed: 100 * (1 - bfree / blocks),
      DiskFree: (bavail * bsize) / GiB,
    }
  },
})
