import './edge/process-settings.ts'
import { run } from './cli/commands/program.ts'

// No top-level await: bin.cjs requires this module.
void run(process.argv.slice(2)).then(exitCode => {
  process.exitCode = exitCode
})
