// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the machine has it.
import * as React from 'react';

const THEMES = ['auto', 'light', 'dark'] as const;

/** Which it is, and how to get the next one. */
export function useTheme(): [string, () => void] {
  const [theme, setTheme] = React.useState(0);
  React.useEffect(() => { document.documentElement.dataset.theme = THEMES[theme]; }, [theme]);
  return [THEMES[theme], () => setTheme((theme + 1) % THEMES.length)];
}
