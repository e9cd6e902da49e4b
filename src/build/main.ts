import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programFiles } from '../edge/program-files.ts'
import { bundle } from './bundle.ts'
import { declarations } from './declarations.ts'

/** Makes `dist`: what an installed package runs. */
const root = fileURLToPath(new URL('../..', import.meta.url))
const dist = join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
await bundle(root)
declarations(root)
const [source, bundled] = programFiles.main
const bin = readFileSync(join(root, 'src/bin.cjs'), 'utf8')
writeFileSync(join(dist, 'bin.cjs'), bin.replace(source.replace('src/', './'), bundled.replace('dist/', './')))
chmodSync(join(dist, 'bin.cjs'), 0o755)
