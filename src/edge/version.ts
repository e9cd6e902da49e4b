import { readFileSync } from 'node:fs'
import { packageUrl } from '../edge/program-files.ts'

/** This package's version. */
export const version = (
  JSON.parse(readFileSync(new URL('package.json', packageUrl), 'utf8')) as { readonly version: string }
).version
