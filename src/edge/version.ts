import { readFileSync } from 'node:fs'
import { packageUrl } from '../edge/program-files.ts'
import { jsonOf } from '../model/json.ts'

/** This package's version. */
export const version = (
  jsonOf(readFileSync(new URL('package.json', packageUrl), 'utf8')) as { readonly version: string }
).version
