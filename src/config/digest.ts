import { createHash } from 'node:crypto'
import { type FileText, readText } from './yaml.ts'

/** A file that a configuration is made of, as it was read. */
export interface ReadFile {
  /** Absolute. */
  readonly file: string
  readonly read: FileText
}

/** Digest of the files of a configuration, as they were read, in whatever order. */
export function filesDigest(files: readonly ReadFile[]): string {
  const texts = new Map(files.map(({ file, read }) => [file, read.ok ? read.text : read.mistake.message]))
  const sorted = [...texts].sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex')
}

/** As `filesDigest`, of what the files hold now. */
export function presentDigest(files: readonly string[]): string {
  return filesDigest(files.map(file => ({ file, read: readText(file) })))
}
