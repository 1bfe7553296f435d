// Packs the extension: a .vsix is a zip archive with the extension below `extension/` and two manifests.
//
// `vsce package` is not used: version 3.9.2 installs 285 packages (124 MB, among them clients for Azure and a scanner for
// secrets), more than all other build dependencies of this package together. Here, 150 lines create the zip archive, with the
// same bytes on every build. The manifest contains what vsce writes, and vsce packs the same folder without a warning.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { zip } from './zip.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const at = (...names) => path.join(here, ...names);

/** The files of the extension, by their names in it. */
function contents() {
  const files = new Map([
    ['package.json', at('package.json')],
    ['README.md', at('README.md')],
    ['LICENSE-MIT', at('..', '..', 'LICENSE-MIT')],
    ['LICENSE-APACHE', at('..', '..', 'LICENSE-APACHE')],
    ['media/icon.png', at('media', 'icon.png')],
    ['media/tollgate.svg', at('media', 'tollgate.svg')],
  ]);
  const code = /\.(cjs|js|mjs|json|txt|wasm)$/;
  const wanted = { schemas: /\.schema\.json$/, dist: code, 'dist/hook-sandbox': code };
  for (const [folder, from] of [
    ['schemas', at('..', 'schemas')],
    ['dist', at('dist')],
    ['dist/hook-sandbox', at('dist', 'hook-sandbox')],
  ]) {
    for (const name of fs.readdirSync(from).sort())
      if (wanted[folder].test(name)) files.set(`${folder}/${name}`, path.join(from, name));
  }
  return files;
}

/** The content types by file extension, which the format requires. */
function contentTypes(names) {
  const known = {
    json: 'application/json',
    md: 'text/markdown',
    png: 'image/png',
    svg: 'image/svg+xml',
    cjs: 'application/javascript',
    js: 'application/javascript',
    mjs: 'application/javascript',
    txt: 'text/plain',
    wasm: 'application/wasm',
  };
  const ends = [...new Set(names.map((name) => path.extname(name)).filter(Boolean))].sort();
  const row = (end) => `<Default Extension="${end}" ContentType="${known[end.slice(1)] ?? 'application/octet-stream'}"/>`;
  const plain = names
    .filter((name) => path.extname(name) === '')
    .map((name) => `<Override PartName="/extension/${name}" ContentType="text/plain"/>`);
  return `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${ends.map(row).join('')}<Default Extension=".vsixmanifest" ContentType="text/xml"/>${plain.join('')}</Types>
`;
}

function manifest(about, files) {
  const text = (value) => String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  const assets = [
    ['Code.Manifest', 'package.json'],
    ['Services.Content.Details', 'README.md'],
    ['Services.Content.License', 'LICENSE-MIT'],
    ['Services.Icons.Default', about.icon],
  ].filter(([, name]) => files.has(name));
  const branding = Object.entries({ Color: about.galleryBanner?.color, Theme: about.galleryBanner?.theme });
  const banner = branding
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `      <Property Id="Microsoft.VisualStudio.Services.Branding.${name}" Value="${text(value)}"/>\n`)
    .join('');
  const asset = ([type, name]) =>
    `<Asset Type="Microsoft.VisualStudio.${type}" Path="extension/${text(name)}" Addressable="true"/>`;
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011" xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">
  <Metadata>
    <Identity Language="en-US" Id="${text(about.name)}" Version="${text(about.version)}" Publisher="${text(about.publisher)}"/>
    <DisplayName>${text(about.displayName)}</DisplayName>
    <Description xml:space="preserve">${text(about.description)}</Description>
    <Tags>${text((about.keywords ?? []).join(','))}</Tags>
    <Categories>${text(about.categories.join(','))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${text(about.engines.vscode)}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionDependencies" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionPack" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${text((about.extensionKind ?? ['workspace']).join(','))}"/>
      <Property Id="Microsoft.VisualStudio.Code.LocalizedLanguages" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.EnabledApiProposals" Value=""/>
      <Property Id="Microsoft.VisualStudio.Code.ExecutesCode" Value="true"/>
${banner}      <Property Id="Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown" Value="true"/>
      <Property Id="Microsoft.VisualStudio.Services.Content.Pricing" Value="Free"/>
    </Properties>
${files.has(about.icon) ? `    <License>extension/LICENSE-MIT</License>\n    <Icon>extension/${text(about.icon)}</Icon>\n` : ''}  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    ${assets.map(asset).join('\n    ')}
  </Assets>
</PackageManifest>
`;
}

/** Packs files, given as a map from their names to their paths; one of them is `package.json`. */
export function archive(files) {
  const about = JSON.parse(fs.readFileSync(files.get('package.json'), 'utf8'));
  return zip([
    ['extension.vsixmanifest', Buffer.from(manifest(about, files))],
    ['[Content_Types].xml', Buffer.from(contentTypes([...files.keys()]))],
    ...[...files].map(([name, file]) => [`extension/${name}`, fs.readFileSync(file)]),
  ]);
}

/** Writes `dist/tollgate.vsix`. @param version the version of the npm package, which the extension must have too */
export function pack(version) {
  const about = JSON.parse(fs.readFileSync(at('package.json'), 'utf8'));
  if (about.version !== version)
    throw new Error(`vscode/package.json says version ${about.version}, package.json ${version}; make them one`);
  const bytes = archive(contents());
  fs.writeFileSync(at('dist', 'tollgate.vsix'), bytes);
  return bytes.byteLength;
}
