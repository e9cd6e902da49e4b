#!/usr/bin/env node
// The name that npx has linked in clones. An installed package has bin.cjs alone.
import './bin.cjs'
