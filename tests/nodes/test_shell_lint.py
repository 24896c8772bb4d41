"""Checking refuses commands that would run a value or let it choose what runs, and leaves ordinary ones alone."""

from collections.abc import Iterator

import pytest

from pflow.core.document.issue import Issue
from pflow.core.file.home import Home
from pflow.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(Home(tmp_path_factory.mktemp("lint") / "home")) as workspace:
        yield workspace


def issues(workspace: Workspace, command: object, **params: object) -> tuple[Issue, ...]:
    """What checking finds in a step with this command; `n` and `o` come from outside."""
    given = {"env": {"NAME": "${n}"}, **params, "command": command}
    inputs = {"n": {"type": "string"}, "o": {"type": "object"}}
    return workspace.check({"inputs": inputs, "nodes": [{"id": "s", "type": "shell", "params": given}]}).issues


RUN = [
    'sh -c "echo $NAME"', 'sh -c "echo $${NAME}"', 'sh -c "echo $${NAME:-x}"', 'sh -c "echo \\"$NAME\\""',
    'eval "echo $NAME"', 'awk "BEGIN{print $NAME}"', 'python3 -c "print($NAME)"', 'sed "s/a/$NAME/"',
    'echo "$NAME" | sh', 'ssh host "ls $NAME"', 'X=$NAME; sh -c "$X"', 'X=${n}; sh -c "$X"',
    'X=a$NAME; Y=$X; bash -c "echo $Y"', 'read X <<< ${n}; sh -c "$X"', 'for x in ${n}; do sh -c "$x"; done',
    'export X=${n}; sh -c "echo $X"', 'set -- ${n}; sh -c "$1"', 'set -- a ${n}; sh -c "$2"',
    'set -- ${n}; sh -c "$*"', 'sh -c \'eval "$NAME"\'', 'sh -c \'sh -c "$NAME"\'', 'sh -c \'eval "$1"\' _ ${n}',
    "sh -c 'echo $(( $1 ))' _ ${n}", "sh -c '$1' _ ${n}", 'sh -c \'"$@"\' _ ${n}', 'f() { sh -c "$1"; }; f ${n}',
    'f() { eval "$@"; }; f a ${n}', 'sh -c "$(echo ${n})"', 'X=$(printf %s ${n}); sh -c "$X"',
    'X=`printf %s ${n}`; eval "$X"', 'echo ${n} | while read l; do sh -c "$l"; done',
    'while read l; do sh -c "$l"; done <<< ${n}', 'while read l; do eval "$l"; done <<E\n${n}\nE',
    'echo ${n} | { read a; sh -c "$a"; }', 'echo ${n} | { true; sh; }', '{ sh; } <<E\n${n}\nE', '( sh ) <<< ${n}',
    '(cat; echo) <<< ${n} | sh', ': $${X:=${n}}; sh -c "$X"', ': $${X:=$NAME}; sh -c "$X"', 'node -pe "${n}"',
    'node -p -e "${n}"', 'node -p "${n}"', '. /dev/stdin <<E\n${n}\nE', 'printf %s ${n} | . /dev/stdin',
    'source /dev/stdin <<< ${n}', 'python3 /dev/stdin <<E\n${n}\nE', 'sh /dev/fd/0 <<E\n${n}\nE',
    'sh /proc/self/fd/0 <<E\n${n}\nE', 'bash /dev/fd/3 3<<E\n${n}\nE', 'sed -f - <<E\n${n}\nE',
    'awk -f - <<E\n${n}\nE', 'printf %s ${n} | sed -f -', "echo ${n} | xargs -I{} sh -c 'echo {}'",
    "echo ${n} | xargs -I % sh -c 'echo %'", "echo ${n} | xargs -i sh -c 'echo {}'",
    "echo ${n} | xargs --replace=R sh -c 'echo R'", 'echo ${n} | xargs sh -c', 'echo ${n} | xargs sh',
    'echo ${n} | xargs -n1 python3 -c', 'echo ${n} | xargs env', 'echo ${n} | xargs -0 sudo',
    'echo ${n} | xargs ssh host', "find ${n} -exec sh -c 'echo {}' \\;",
    'find . -name ${n} -exec bash -c "cat {}" \\;', 'find . -exec ${n} {} \\;', 'echo ${n} | parallel',
    'parallel ${n}', 'ssh host <<E\n${n}\nE', 'echo ${n} | ssh host', 'echo ${n} | ssh host bash',
    'ssh host bash -s <<< ${n}', 'docker exec -i c sh <<E\n${n}\nE', 'echo ${n} | docker exec -i c bash',
    'kubectl exec -i p -- sh <<E\n${n}\nE', 'echo ${n} | kubectl exec -i p -- bash -s', 'env -S "${n}"',
    'env --split-string=${n}', 'env --split-s=${n}', '$(printf %s ${n})', '`printf %s ${n}`', '${n}', '$NAME',
    '"$NAME" a b', './bin/${n}', 'nice ${n}', 'timeout 5 ${n}', 'sudo ${n}', 'sudo -u root ${n}', 'nohup ${n} &',
    'xargs ${n}', 'env ${n}', 'env A=1 ${n}', 'exec ${n}', 'command ${n}', 'time ${n}', 'HOME=${n} git status',
    'export HOME=${n}', 'GIT_DIR=${n} git status', 'MAKEFLAGS=${n} make', 'XDG_CONFIG_HOME=${n} git log',
    'GOFLAGS=${n} go build', 'RUSTC_WRAPPER=${n} cargo build', 'PERL5OPT=${n} perl x.pl', 'NODE_OPTIONS=${n} node x',
    'RUBYOPT=${n} ruby x', 'JAVA_TOOL_OPTIONS=${n} java X', 'LESSOPEN=${n} less x', 'PAGER=${n} man ls',
    'GH_PAGER=${n} gh pr list', 'EDITOR=${n} crontab -e', 'BROWSER=${n} xdg-open x', 'npm_config_x=${n} npm i',
    'PIP_INDEX_URL=${n} pip install x', 'UV_INDEX=${n} uv sync', 'CARGO_BUILD_RUSTC=${n} cargo build',
    'DOCKER_HOST=${n} docker ps', 'KUBECONFIG=${n} kubectl get pods', 'env HOME=${n} git status',
    'sudo HOME=${n} git status', 'make V=${n}', 'make ${n}', 'make build-${n}', 'make --eval=${n}', 'make -f ${n}',
    'make -f - <<E\n${n}\nE', 'sqlite3 db ${n}', 'sqlite3 db "select ${n}"', 'echo ${n} | sqlite3 db',
    'sqlite3 db <<E\n${n}\nE', 'sqlite3 -cmd ${n} db', 'psql -c ${n}', 'psql -d db -c "select \'${n}\'"',
    'psql --command=${n}', 'echo ${n} | psql db', 'mysql -e ${n}', 'mysql db -e "select ${n}"',
    'mysql --execute=${n}', 'mysql db <<< ${n}', 'echo ${n} | tclsh', 'tclsh <<< ${n}', 'csh -c ${n}', 'tcsh -c ${n}',
    'pwsh -c ${n}', 'pwsh -Command ${n}', 'pwsh -NoProfile -Command "echo ${n}"', 'deno eval ${n}', 'deno run ${n}',
    'ipython -c ${n}', 'bun -e ${n}', 'bun run ${n}', 'lua -e ${n}', 'Rscript -e ${n}', 'julia -e ${n}',
    'julia -E ${n}', 'osascript -e ${n}', 'echo ${n} | osascript', 'gdb -ex ${n} prog', 'gdb -batch -ex ${n}',
    'vim -c ${n} f', 'vim "+${n}" f', 'vim -es "+normal ${n}" f', 'emacs --batch --eval ${n}', 'emacs --eval=${n}',
    'jq ${n} f', 'jq ".a == \\"${n}\\"" f', 'jq -r ".${n}"', 'git -c ${n} status', 'git -c alias.x=${n} x',
    'git -c core.pager=${n} log', 'git config alias.x ${n}', 'git config core.sshCommand ${n}', 'git config ${n} x',
    'git ${n}', 'git grep --open-files-in-pager=${n} x', 'git grep -O${n} x', 'git rebase -x ${n}',
    'git bisect run ${n}', 'git submodule foreach ${n}', 'git clone --upload-pack ${n} url',
    'git clone --upload-pack=${n} url', 'git clone -c core.x=1 --config=${n} u', 'git --exec-path=${n} status',
    'git --git-dir=${n} status', 'tar --to-command=${n} -xf a', 'tar xf a --checkpoint=1 --checkpoint-action=${n}',
    'tar --checkpoint-action exec=${n} -xf a', 'tar -I ${n} -xf a', 'tar --use-compress-program=${n} -xf a',
    'ssh -o ProxyCommand=${n} h', 'ssh -o ${n} h', 'ssh -oProxyCommand=${n} h', 'scp -o ProxyCommand=${n} a b',
    'scp -S ${n} a b', 'rsync -e ${n} a b', 'rsync --rsh=${n} a b', 'rsync -ae "ssh ${n}" a b', 'curl -K - <<< ${n}',
    'curl -K ${n}', 'wget --use-askpass=${n} u', 'wget -e ${n} u', 'echo ${n} | bc', 'bc <<< ${n}', 'echo ${n} | dc',
    'dc -e ${n}', 'echo ${n} | ed f', 'ed f <<E\n${n}\nE', 'ex f <<E\n${n}\nE', 'echo ${n} | m4', 'm4 -DX=${n} f',
    'xmllint --xpath ${n} f', 'echo ${n} | at now', 'at now <<< ${n}', 'echo ${n} | crontab -', 'busybox sh -c ${n}',
    'busybox awk ${n}', 'busybox ${n}', 'tmux send-keys -t a ${n}', 'tmux new-session ${n}', 'screen -X stuff ${n}',
    'su me -c "ls ${n}"', 'flock f -c "ls ${n}"', 'flock f ${n}', 'sort --compress-program=${n} f',
    'split --filter=${n} f', 'socat - EXEC:${n}', 'socat - ${n}', 'nc -e ${n} h 1', 'ncat --exec ${n} h', 'npx ${n}',
    'npx -c ${n}', 'uvx ${n}', 'uv run ${n}', 'uv run python -c ${n}', 'poetry run python -c ${n}',
    'npm exec -c ${n}', 'expect -c ${n}', 'perl -E ${n}', 'perl -Mstrict -e ${n}', 'ruby -ne ${n} f', 'php -r ${n}',
    'gawk --source ${n}', 'awk -e ${n}', 'sed --expr=s/${n}//', 'sed -n "/$NAME/p" f', 'sed -ne "s/$NAME//" f',
    'sed s/a/b/ -e ${n} f', 'exec <<E\n${n}\nE\nsh', 'exec 3<<E\n${n}\nE\nsh /dev/fd/3', 'a=(${n}); sh -c "$${a[0]}"',
    'printf -v X %s ${n}; eval "$X"', 'mapfile X <<< ${n}; eval "$X"', 'echo ${n} | (read X; eval "$X")',
    'while getopts a: o; do eval "$OPTARG"; done; set -- ${n}', 'for x; do eval "$x"; done; set -- ${n}',
    'for x in "$@"; do eval "$x"; done; set -- ${n}', 'set -- ${n}; shift; eval "$1"', 'echo $((NAME + 1))',
    'echo $(($NAME + 1))', 'X=${n}; echo $((X))', 'let X=NAME+1', '[[ NAME -eq 1 ]]', '[[ $NAME -eq 1 ]]',
    '[ -v "$NAME" ]', 'echo "$${!NAME}"', 'echo "$${NAME@P}"', 'echo "$${A[$NAME]}"', 'echo "$${A:$NAME:1}"',
    'A=([$NAME]=1)', 'trap "rm $NAME" EXIT', 'alias x="$NAME"', 'watch "ls $NAME"', 'sh <(echo ${n})',
    'sh <(echo "$NAME")', '. <(echo ${n})', 'bash < <(echo ${n})', 'sh -c "$(cat <<E\n${n}\nE\n)"',
    'case x in x) sh -c "$NAME";; esac', 'if true; then sh -c "$NAME"; fi', '! eval $NAME', '(eval "$NAME")',
    'cat <<E | sh\n$NAME\nE', 'sh <<E\necho $NAME\nE', 'tee x <<E | bash\n$NAME\nE', 'sh -s <<< "$NAME"',
    'echo "$NAME" | sudo -u x bash', 'echo "$NAME" | env sh', 'echo "$NAME" | exec sh', 'PATH=$NAME ls',
    'LD_PRELOAD=$NAME ls', 'unset $NAME', 'read $NAME', 'export "$NAME=1"', 'python3 $NAME',
    'python3 scripts/$NAME.py', 'sh $NAME.sh', '. "./$NAME"', 'timeout -s KILL 5 sh -c "$NAME"',
    'nice -n 5 bash -c "$NAME"', 'stdbuf -oL sh -c "$NAME"', 'strace -f sh -c "$NAME"',
    'docker run --rm i sh -c "ls $NAME"', 'docker run i bash -lc "ls $NAME"', 'podman exec c python -c "$NAME"',
    'kubectl exec p -- sh -c "ls $NAME"', 'chroot /x sh -c "$NAME"', 'xargs -I{} sh -c "ls {} $NAME"',
    'nsenter -t 1 sh -c "$NAME"', 'systemd-run sh -c "$NAME"', 'unknown-wrapper sh -c "$NAME"',
    'coproc sh -c "$NAME"', 'sh -c \'for x in "$@"; do eval "$x"; done\' _ ${n}',
    'sh -c \'X="$1"; sh -c "$X"\' _ ${n}', "bash -c 'echo $(($NAME))'", 'bash -c "bash -c \'$NAME\'"',
    'sh -c \'echo "$1" | sh\' _ ${n}', "sh -c 'sh' <<< ${n}", "echo ${n} | sh -c 'sh'",
    'echo ${n} | sh -c \'read x; eval "$x"\'', "echo ${n} | sh -c 'cat | sh'",
    'find . -exec sh -c \'eval "$NAME"\' \\;',
    'echo ${n} > f.sh; sh f.sh', 'cat > run.sh <<E\n${n}\nE\nsh run.sh', 'echo ${n} | tee f.sh; bash ./f.sh',
    'printf %s ${n} > x; chmod +x x; ./x', '{ echo a; echo ${n}; } > x.py; python3 x.py',
    'echo $NAME >> lib.sh; . ./lib.sh', 'echo ${n} > f; sh < f', 'bash <<\'E\'\neval "$NAME"\nE',
    'sh <<\'E\'\nsh -c "$NAME"\nE', 'sh <<E\neval \\$NAME\nE', 'bash -s -- ${n} <<\'E\'\neval "$1"\nE',
    'echo \'eval "$NAME"\' | sh', 'bash <<< \'eval "$NAME"\'', 'sshpass -p x ssh host "ls ${n}"', 'mosh host -- ${n}',
    "$'eval' ${n}", 'node -r ${n} x.js', 'gawk -i inplace ${n} f', 'mawk -W exec ${n}',
    'echo ${n} | podman exec -i c psql', 'echo ${n} | docker exec -i c psql -U x',
    'echo ${n} | docker exec -i db mysql', 'docker exec c psql -c "select ${n}"', 'kubectl exec p -- psql -c "${n}"',
    'docker exec c awk ${n}', 'psql -qtAXc "select \'$NAME\'"', 'psql -tAc "select \'$NAME\'"',
    'redis-cli eval "$NAME" 0', 'ex -sc "$NAME|x" f', 'emacs --batch -l "$NAME"', 'go run "$NAME"',
    'at now -f "$NAME"', '(crontab -l; echo "* * * * * $NAME") | crontab -', '(echo begin; echo "$NAME") | psql db',
    'hyperfine ${n}', 'valgrind ${n}', 'perf stat ${n}', 'xvfb-run ${n}', 'wsl ${n}', 'yq ${n} f',
    'vagrant ssh -c ${n}', 'cmake -P ${n}', 'cmd.exe /c ${n}', 'hg --config alias.x=${n} x',
    'torsocks ${n}', 'bwrap ${n}', 'less +!${n} f',
    'systemd-run --user "$NAME"', 'nsenter -t 1 -m "$NAME"', 'unshare -r "$NAME"', 'sh -c \'echo "$NAME" > f; sh f\'',
    'mysql -uroot -e"select $NAME"', 'clickhouse-client -q "$NAME"', 'mongosh --eval "$NAME"',
]  # fmt: skip
"""Commands that run the value of `n`, or let it choose what runs; `NAME` holds it, too."""

ORDINARY = [
    "eval echo '$NAME'", 'flock f grep -c ${n} x', 'sh -c \'echo "$NAME"\'', "sh -c 'echo $NAME'",
    'sh -c \'echo "$1"\' _ ${n}', 'bash -c \'grep -- "$1" f\' _ "$NAME"', 'sh -c \'exec "$@"\' _ ls ${n}',
    'echo "$NAME"', 'printf \'%s\\n\' "$NAME"', 'grep -r "$NAME" .', 'grep -c ${n} f || true', 'grep -e ${n} -- f',
    'cp ${n} dest', 'mv "$NAME" "$NAME.bak"', 'rm -f -- ${n}', 'mkdir -p ${n}/sub', 'touch ${n}', 'ls -la "$NAME"',
    'cat ${n} | sort | uniq -c', 'git commit -m ${n}', 'git commit -m "$NAME" --author="$NAME <x@y>"',
    'git checkout -b ${n}', 'git switch -c ${n}', 'git push -u origin ${n}', 'git push origin "HEAD:${n}"',
    'git log --format=%H ${n}..HEAD', 'git log --grep=${n} --oneline', 'git clone ${n}',
    'git clone --depth 1 -b ${n} https://x y', 'git add -- ${n}', 'git tag -a ${n} -m ${n}', 'git diff ${n} -- f',
    'git config user.name ${n}', 'git -c user.name=${n} commit -m x', 'git -C ${n} status', 'git grep -n ${n}',
    'git show ${n}:README', 'git fetch origin ${n}', 'git rev-parse ${n}', 'git worktree add ${n}',
    'git stash push -m ${n}', 'curl -sf ${n}', 'curl -H "Authorization: Bearer $NAME" https://x',
    'curl -d ${n} https://x -o ${n}', 'curl -X POST --data-binary @- https://x/${n}', 'curl ${n} | jq .a',
    'wget -q ${n} -O out', 'wget -O ${n} https://x', "jq --arg x ${n} '.a == $x' f", "jq -r '.a' ${n}",
    'jq -n --arg n "$NAME" \'{name: $n}\'', "jq --argjson v ${n} '.x = $v' f", "jq --slurpfile a ${n} '.' f",
    'tee ${n}', 'echo ${n} | tee -a log', 'test -f ${n} && echo yes', '[ "$NAME" = x ]', '[ -z "$NAME" ] || echo a',
    '[[ $NAME == x ]]', '[[ -f $NAME ]]', 'find . -name ${n} -print0 | xargs -0 rm', 'find ${n} -type f -delete',
    'find ${n} -exec grep x {} +', 'find . -name "*.py" -exec wc -l {} +',
    'find ${n} -exec sh -c \'echo "$1"\' _ {} \\;', 'echo ${n} | xargs -0 rm', 'echo ${n} | xargs rm -f',
    'echo ${n} | xargs -I{} cp {} dest', 'echo ${n} | xargs -I{} mv {} {}.bak',
    'echo ${n} | xargs sh -c \'echo "$@"\' _', 'cat f | xargs grep ${n}', 'wc -l < ${n}',
    'n=$(wc -l < ${n}); echo $((n + 1))', 'sort -k2 ${n}', 'head -n ${n} f', 'tail -n "$NAME" f', 'cut -d, -f${n} f',
    'tr a-z A-Z <<< ${n}', "awk -v n=${n} '$1 == n' f", "awk '{print $1}' ${n}",
    'awk \'BEGIN{print ENVIRON["NAME"]}\'', 'awk -F: -v "x=$NAME" \'{print x}\' f', 'sed -n 5p ${n}',
    'sed -e \'s/a/b/\' "$NAME"', 'sed -i.bak s/a/b/ ${n}', 'python3 script.py ${n} --flag "$NAME"',
    'python3 -m pytest ${n}', 'python3 -m pip install ${n}', "python3 -c 'import sys; print(sys.argv[1])' ${n}",
    'python3 -c \'import os; print(os.environ["NAME"])\'', 'node app.js ${n}',
    "node -e 'console.log(process.argv[1])' ${n}", "perl -ne 'print if /x/' ${n}", 'ruby x.rb ${n}',
    'pip install ${n}', 'npm install ${n}', 'npm run build -- ${n}', 'npx prettier --write ${n}',
    'uv run pytest ${n}', 'uv pip install ${n}', 'uvx ruff check ${n}', 'docker build -t ${n} .',
    'docker run --rm -e X=${n} image ls', 'docker run --rm ${n}', 'docker exec c ls ${n}', 'docker exec c cat ${n}',
    'kubectl get pods -n ${n}', 'kubectl apply -f ${n}', 'kubectl exec p -- ls ${n}', 'ssh ${n} uptime',
    'ssh -p ${n} host uptime', 'ssh -i ${n} host ls', 'ssh -o ConnectTimeout=${n} host ls', 'scp ${n} host:/tmp',
    'rsync -av ${n} dest', 'rsync -avz --exclude=${n} a b', 'tar czf ${n} dir', 'tar -xzf ${n} -C dir',
    'tar -C ${n} -cf x.tar .', 'zip -r ${n} dir', 'unzip ${n} -d x', 'gzip -k ${n}', 'ffmpeg -i ${n} out.mp4',
    'convert ${n} -resize 50% o.png', 'make -C ${n}', 'make -j4 -C "$NAME" all', "psql ${n} -c 'select 1'",
    'psql -d ${n} -f q.sql', 'psql -v name=${n} -f q.sql', 'psql -h ${n} -U "$NAME" db -c \'select 1\'',
    'pg_dump ${n} > out.sql', 'gunzip -c ${n} | psql db', "sqlite3 ${n} 'select 1'", 'sqlite3 ${n} < schema.sql',
    "mysql -h ${n} -u root db -e 'select 1'", 'mysql db < ${n}', 'cd ${n} && ls', 'cd "$NAME"; make',
    'export TOKEN=${n}; ./run.sh', 'TOKEN=${n} ./run.sh', 'GIT_AUTHOR_NAME=${n} git commit -m x', 'X=${n}; echo "$X"',
    'X=${n}; curl "https://x/$X"', 'for f in ${n}/*; do cat "$f"; done', 'for x in a b; do echo "$x ${n}"; done',
    'while read l; do echo "$l"; done <<< ${n}', 'case ${n} in a) echo 1;; *) echo 2;; esac',
    'if grep -q ${n} f; then echo yes; fi', 'echo "$${NAME:-none}"', 'echo "$${NAME%%.*}" "$${#NAME}"',
    'timeout 10 curl ${n}', 'timeout ${n} sleep 1', 'nice -n 10 gzip ${n}', 'sudo cp ${n} /etc', 'sudo -u ${n} ls',
    'env A=${n} ls', 'command -v ${n}', 'time ls ${n}', 'nohup ./x ${n} &', 'sleep ${n}', 'seq 1 ${n}',
    'date -d ${n}', 'basename ${n}', 'dirname "$NAME"', 'realpath ${n}', 'stat ${n}', 'diff ${n} b', 'chmod 644 ${n}',
    'chown me ${n}', 'ln -s ${n} x', 'du -sh ${n}', 'kill ${n}', 'which ${n}', 'openssl dgst -sha256 ${n}',
    'base64 <<< ${n}', 'md5sum ${n}', 'gh pr create --title ${n} --body "$NAME"', 'gh issue comment 1 -b ${n}',
    'gh api repos/${n} --jq .name', 'aws s3 cp ${n} s3://b', 'gcloud storage cp ${n} gs://b',
    'terraform apply -var x=${n}', 'cargo run -- ${n}', 'cargo test ${n}', 'go test ./... -run ${n}',
    'go run main.go ${n}', 'java -jar x.jar ${n}', 'bash script.sh ${n}', 'sh ./run.sh "$NAME"', './script.sh ${n}',
    'cat <<E > f\n${n} $NAME\nE', 'grep -r bash ${n}', 'grep sh "$NAME"', 'echo bash ${n}',
    'apt-get install -y python3 ${n}', 'sort ${n} | uniq | head -5', 'printf \'%s\\n\' "$NAME" | grep x | wc -l',
    'echo ${n} | python3 script.py', 'echo ${n} | sh run.sh', 'echo ${n} | grep sh', 'echo ${n} | ssh host cat',
    'echo ${n} | docker exec -i c cat', 'echo ${n} | mail -s "$NAME" x@y', 'ping -c 1 ${n}', 'host ${n}',
    'xmllint --noout ${n}', 'yq .a ${n}', 'pandoc ${n} -o x.pdf', 'vim --version; echo ${n}', 'less ${n}', 'man ${n}',
    'code ${n}', 'open ${n}', 'f() { echo "$1"; }; f ${n}', 'set -- ${n}; echo "$1"', 'tmux kill-session -t ${n}',
    'd=$(mktemp -d); cp ${n} "$d"; ls "$d"', 'b=$(basename ${n}); echo "$b"',
    'STATUS=$(curl -s -o /dev/null -w \'%{http_code}\' ${n}); [ "$STATUS" = 200 ]',
    'STATUS=$(curl -s ${n}); if [[ $STATUS == 200 ]]; then echo ok; fi', 'echo "$(date) ${n}"',
    'trap \'rm -f "$T"\' EXIT; T=$(mktemp); echo ${n} > "$T"', 'yes | head -n ${n}', 'dd if=${n} of=x',
    'rg -n ${n} src', 'fd ${n}', 'xargs -a ${n} rm', 'parallel --version; echo ${n}', "su me -c 'ls'",
    'python3 - <<\'E\'\nimport os; print(os.environ["NAME"])\nE', 'python3 manage.py shell ${n}',
    'echo ${n} > data.txt; python3 proc.py data.txt', 'cat <<E > conf.json\n${n}\nE\n./run --config conf.json',
    'echo ${n} > /dev/null; ls', 'echo ${n} >&2', 'sort ${n} > out; cat out', "echo 'a' | sh; echo ${n}",
    'bash <<\'E\'\necho "$NAME"\nE', 'bash -s -- ${n} <<\'E\'\necho "$1"\nE', 'docker run --name psql ${n}',
    'docker exec -i c cat < ${n}', 'kubectl get pods -n ${n} -o yaml', 'docker cp ${n} c:/x', 'docker logs ${n}',
    'docker pull ${n}', 'docker tag ${n} "$NAME"', 'kubectl logs ${n} | grep x', 'go test ./${n}',
    'go build -o ${n} .', 'redis-cli get ${n}', 'redis-cli set key ${n}', "psql -h ${n} -c 'select 1'",
    "yq '.a' ${n}", "cmake -B ${n}", "less ${n}", "perf report -i ${n}", "valgrind ./a ${n}", "vagrant up ${n}",
    "mysql -u ${n} -e 'select 1' db", 'at -l; echo ${n}', 'systemd-run --unit ${n} ls', 'tee ${n} < f',
    'cat f | tee ${n}', 'echo "$NAME" | tee out.txt | wc -c',
    "python3 -c 'import sys; print(sys.stdin.read())' <<< ${n}", 'jq . <<< ${n}', 'psql db < ${n}',
    'gzip -dc ${n} | mysql db', 'cat ${n} | sqlite3 db',
]  # fmt: skip

RUN_INPUT = [
    'sh', 'bash -s', 'python3 -', 'cat | sh', 'sh -c "$(cat)"', 'X=$(cat); eval "$X"', 'read X; sh -c "$X"',
    'psql db', 'sqlite3 db', 'ssh host', 'xargs sh -c', "xargs -I{} sh -c 'echo {}'", 'node', '$(head -1)',
    'eval "$(jq -r .x)"', 'sh /dev/stdin', 'tr a b | bash', 'while read l; do eval "$l"; done', "sh -c 'sh'",
    'docker exec -i c sh', 'X=$(</dev/stdin); eval $X', 'bc', 'tee x | sh', 'sh < /dev/stdin', '. /dev/stdin',
    'crontab -', 'parallel', 'grep x | xargs -n1 sh -c',
]  # fmt: skip

READ_INPUT = [
    'cat', 'wc -l', 'jq .', 'sort | uniq', 'grep x', 'python3 script.py', 'X=$(cat); echo "$X"',
    'while read l; do echo "$l"; done', 'xargs rm', 'tr a b > f', "sh -c 'cat'", 'sh run.sh', "psql -c 'select 1'",
    'curl -d @- https://x', 'docker run -i x cat', 'tee f', 'date | sh', '$(which python3) script.py', 'ssh host cat',
    'n=$(wc -l); echo $((n+1))', 'sed -n 1p', "awk '{print}'", 'base64 -d', 'git apply',
    "python3 -c 'import sys; print(sys.stdin.read())'", 'sh <f', 'node app.js', 'perl -ne print',
]  # fmt: skip

RUN_LIST: list[list[object]] = [
    ['sh', '-c', 'echo ${n}'], ['python3', '-c', '${n}'], ['${n}'], ['./${n}'], ['env', '${n}'],
    ['sudo', 'sh', '-c', '${n}'], ['sh', '-c', 'eval $NAME'], ['sh', '-c', 'eval "$1"', '_', '${n}'], ['awk', '${n}'],
    ['sed', 's/a/${n}/'], ['find', '.', '-exec', '${n}', '{}', ';'],
    ['find', '${n}', '-exec', 'sh', '-c', 'cat {}', ';'], ['git', '-c', '${n}', 'log'], ['make', 'V=${n}'],
    ['env', 'HOME=${n}', 'git'], ['bash', '${n}'], ['timeout', '5', '${n}'], ['xargs', '${n}'],
    ['node', '-pe', '${n}'], ['ssh', 'h', 'ls ${n}'], ['jq', '${n}'], ['sh', '-c', '${n}'], ['env', '-S', '${n}'],
    ['sqlite3', 'db', '${n}'], ['docker', 'exec', 'c', 'sh', '-c', '${n}'], [], [''], ['a', None], ['a', ['b']],
    ['a', {}], ['a\x00'],
]  # fmt: skip

ORDINARY_LIST: list[list[object]] = [
    ['echo', '${n}'], ['echo', '$NAME', '$(id)', '${n};${n}'], ['sh', '-c', 'echo "$1"', '_', '${n}'],
    ['sh', '-c', 'echo "$NAME"'], ['grep', '-c', '${n}', 'f'], ['git', 'commit', '-m', '${n}'],
    ['python3', 'x.py', '${n}', 5, True, 1.5], ['true'], ['jq', '--arg', 'n', '${n}', '.'],
    ['find', '${n}', '-name', 'x'], ['curl', '-d', '${n}', 'https://x/${n}'], ['eval-tool', '${n}'],
    ['./run.sh', '${n}'], ['env', 'A=${n}', 'ls'], ['awk', '-v', 'a=${n}', '{print a}'],
]  # fmt: skip


@pytest.mark.parametrize("command", RUN)
def test_a_command_that_would_run_a_value_is_refused(workspace: Workspace, command: str) -> None:
    found = issues(workspace, command)
    assert [issue.severity for issue in found if issue.code == "template"]
    assert all(issue.hint for issue in found)


@pytest.mark.parametrize("command", ORDINARY)
def test_an_ordinary_command_is_not_refused(workspace: Workspace, command: str) -> None:
    assert issues(workspace, command) == ()


@pytest.mark.parametrize("command", RUN_INPUT)
def test_a_command_that_would_run_a_value_on_its_input_is_refused(workspace: Workspace, command: str) -> None:
    assert issues(workspace, command, env={}, stdin="a ${n}")


@pytest.mark.parametrize("command", READ_INPUT)
def test_a_command_that_only_reads_a_value_is_not_refused(workspace: Workspace, command: str) -> None:
    assert issues(workspace, command, env={}, stdin="${n}") == ()


@pytest.mark.parametrize("command", RUN_LIST, ids=str)
def test_a_list_that_would_run_a_value_is_refused(workspace: Workspace, command: list[object]) -> None:
    assert issues(workspace, command)


@pytest.mark.parametrize("command", ORDINARY_LIST, ids=str)
def test_an_ordinary_list_is_not_refused(workspace: Workspace, command: list[object]) -> None:
    assert issues(workspace, command) == ()


@pytest.mark.parametrize(
    "name",
    ["HOME", "GIT_DIR", "MAKEFLAGS", "PATH", "EDITOR", "MY_PAGER", "KUBECONFIG", "UV_INDEX_URL", "PYTHONSTARTUP"],
)
def test_a_value_cannot_be_a_variable_that_leads_to_what_runs(workspace: Workspace, name: str) -> None:
    found = issues(workspace, "ls", env={name: "${n}"})
    assert [(issue.path, issue.code) for issue in found] == [(f"nodes[0].params.env.{name}", "template")]
    assert issues(workspace, "ls", env={name: "/written/out"}) == ()


@pytest.mark.parametrize(
    "name",
    [
        "TOKEN",
        "CARGO_REGISTRY_TOKEN",
        "GIT_AUTHOR_NAME",
        "NODE_ENV",
        "DOCKER_IMAGE",
        "AWS_PROFILE",
        "DATABASE_URL",
        "TZ",
    ],
)
def test_a_value_can_be_an_ordinary_variable(workspace: Workspace, name: str) -> None:
    assert issues(workspace, "ls", env={name: "${n}"}) == ()


def test_variables_whose_names_are_not_known_count_as_values(workspace: Workspace) -> None:
    assert issues(workspace, 'echo "$ANY"', env="${o}") == ()
    assert issues(workspace, 'sh -c "$ANY"', env="${o}")


def test_params_that_a_mapping_fills_in_count_as_values(workspace: Workspace) -> None:
    document = {
        "inputs": {"text": {"type": "string"}},
        "nodes": [{"id": "s", "type": "shell", "params": {"command": "sh"}}],
        "mappings": {"s": {"input_mappings": {"stdin": "text"}}},
    }
    assert [issue.message for issue in workspace.check(document).issues] == [
        "the standard input, which holds `${text}`, would become part of a script that a program reads"
    ]


LIST = "write `command` as a list of arguments, which runs without a shell; or "


@pytest.mark.parametrize(
    ("command", "message", "hint"),
    [
        (
            'sh -c "echo $NAME"',
            "`$NAME`, which holds `${n}`, would become code that `sh` runs",
            LIST + "put the script in single quotes and pass the value after it: `sh -c 'echo \"$1\"' sh …`",
        ),
        (
            'awk "/$NAME/" f',
            "`$NAME`, which holds `${n}`, would become code that `awk` runs",
            LIST + 'pass it with `-v name=…` before the script, or read `ENVIRON["NAME"]` in it',
        ),
        (
            "python3 -c \"print('$NAME')\"",
            "`$NAME`, which holds `${n}`, would become code that `python` runs",
            LIST
            + "put the script in single quotes and pass the value after it, where the script finds it in `sys.argv`",
        ),
        (
            'sed "s/a/$NAME/"',
            "`$NAME`, which holds `${n}`, would become code that `sed` runs",
            LIST + "do this in a `code` step; a `sed` script has no variables",
        ),
        (
            'X=$NAME; sh -c "$X"',
            "`$X`, which holds a value, would become code that `sh` runs",
            LIST + "put the script in single quotes and pass the value after it: `sh -c 'echo \"$1\"' sh …`",
        ),
        (
            "$NAME --flag",
            "`$NAME`, which holds `${n}`, would name the program that runs",
            "write the program out; values can only be its arguments",
        ),
    ],
)
def test_the_hint_is_right_for_the_program(workspace: Workspace, command: str, message: str, hint: str) -> None:
    assert [(issue.message, issue.hint) for issue in issues(workspace, command)] == [(message, hint)]


def test_the_hint_of_a_list_does_not_ask_for_a_list(workspace: Workspace) -> None:
    found = issues(workspace, ["sh", "-c", "echo ${n}"])
    assert [(issue.path, issue.message) for issue in found] == [
        ("nodes[0].params.command[2]", "`${n}` would become code that `sh` runs")
    ]
    assert "as a list" not in found[0].hint


CHAINED = "; ".join(f"A{number}=$A{number + 1}" for number in range(50))


def test_variables_that_depend_on_later_ones_are_followed_or_refused(workspace: Workspace) -> None:
    assert issues(workspace, f'{CHAINED}; A3=${{n}}; sh -c "$A0"')
    assert issues(workspace, f'{CHAINED}; A50=${{n}}; sh -c "$A0"')
