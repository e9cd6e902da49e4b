import { readFileSync } from 'node:fs'

/** The most memory this process has had, in MB: `VmHWM` of Linux. */
export function peakMb(): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_024
}
