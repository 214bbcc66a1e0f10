// SPDX-License-Identifier: Apache-2.0
// Light, dark, or the setting of the system.
import * as React from 'react';

const THEMES = ['auto', 'light', 'dark'] as const;

/** The current theme, and a function that switches to the next one. */
export function useTheme(): [string, () => void] {
  const [theme, setTheme] = React.useState(0);
  React.useEffect(() => { document.documentElement.dataset.theme = THEMES[theme]; }, [theme]);
  return [THEMES[theme], () => setTheme((theme + 1) % THEMES.length)];
}
