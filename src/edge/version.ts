import { readFileSync } from 'node:fs'
import { packageUrl } from '../edge/program-files.ts'
import { jsonOf } from '../model/json.ts'

const manifest = jsonOf(readFileSync(new URL('package.json', packageUrl), 'utf8')) as {
  readonly name: string
  readonly version: string
}

/** This package's version. */
export const version = manifest.version

/** The name under which this package is published. It is imported as `tidegauge`, whatever its name. */
export const packageName = manifest.name

/**
 * Whether a Node has no published hole in its permission model, which confines collectors. The last one, CVE-2026-58043,
 * lets a process read more than it is granted; it is mended in these versions.
 */
export function isSafeNode(node: string): boolean {
  const [major = 0, minor = 0, patch = 0] = node.split('.').map(Number)
  if (major === 24) return minor > 18 || (minor === 18 && patch >= 1)
  return major > 26 || (major === 26 && (minor > 5 || (minor === 5 && patch >= 1)))
}
