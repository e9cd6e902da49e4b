#!/usr/bin/env node
'use strict'
// Old syntax, and CommonJS: a Node of any age must be able to say that it is too old.
const needed = /(\d+)\.(\d+)/.exec(require('../package.json').engines.node).slice(1).map(Number)
const own = /(\d+)\.(\d+)/.exec(process.version).slice(1).map(Number)

if (own[0] > needed[0] || (own[0] === needed[0] && own[1] >= needed[1])) require('./main.ts')
else {
  process.stderr.write(
    `tidegauge: needs Node ${needed.join('.')} or newer, and this is ${process.version}: install a newer one\n`,
  )
  process.exitCode = 1
}
