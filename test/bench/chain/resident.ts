import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const sampleMs = 100

/** What memory a process had while it ran, in MB, sample after sample: resident, without the processes it started. */
export async function residentMbOf(pid: number, hasEnded: () => boolean): Promise<readonly number[]> {
  const samples: number[] = []
  while (!hasEnded()) {
    const mb = residentMb(pid)
    if (mb !== undefined) samples.push(mb)
    await sleep(sampleMs)
  }
  return samples
}

/** `VmRSS` of Linux; undefined once the process has ended. */
function residentMb(pid: number): number | undefined {
  try {
    const kb = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kb === undefined ? undefined : Number(kb) / 1_024
  } catch {
    return undefined
  }
}
