import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from './bundle.ts'

/** Makes `dist`: what an installed package runs. */
const root = fileURLToPath(new URL('..', import.meta.url))

rmSync(join(root, 'dist'), { recursive: true, force: true })
await bundle(root)
