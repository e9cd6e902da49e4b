#!/usr/bin/env node
// Plain JavaScript, and old: a Node that cannot read TypeScript must still be able to say that it is too old.
import { readFileSync } from 'node:fs'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const [major, minor] = engines.node.match(/\d+/g).map(Number)
const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number)

if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) import('./main.ts')
else {
  process.stderr.write(
    `tidegauge: needs Node ${major}.${minor} or newer, and this is ${process.version}: install a newer one\n`,
  )
  process.exitCode = 1
}
